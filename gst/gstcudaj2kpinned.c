/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kpinned.h"

#define MEMORY_TYPE "CudaJ2kPinned"

/* The library's allocation functions need a decoder. The allocator has one of its own that decodes
 * nothing, so that its memory may outlive the element. */
typedef struct {
  GstAllocator parent;
  GstCudaJ2kContext context;
  Cj2kDecoder *owner;
} GstCudaJ2kPinnedAllocator;
typedef struct {
  GstAllocatorClass parent_class;
} GstCudaJ2kPinnedAllocatorClass;

typedef struct {
  GstMemory memory;
  gpointer data;
} PinnedMemory;

GType gst_cuda_j2k_pinned_allocator_get_type(void);
G_DEFINE_TYPE(GstCudaJ2kPinnedAllocator, gst_cuda_j2k_pinned_allocator, GST_TYPE_ALLOCATOR)

static GstMemory *alloc(GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstCudaJ2kPinnedAllocator *self = (GstCudaJ2kPinnedAllocator *)allocator;
  gsize whole = size + params->prefix + params->padding;
  /* Pages satisfy any alignment that is asked for. */
  gpointer data = cj2k_decoder_alloc(self->owner, CJ2K_MEMORY_PINNED, whole);
  if (!data)
    return NULL;
  PinnedMemory *memory = g_new0(PinnedMemory, 1);
  gst_memory_init(&memory->memory, GST_MEMORY_FLAG_NO_SHARE, allocator, NULL, whole, params->align,
                  params->prefix, size);
  memory->data = data;
  return &memory->memory;
}

static void free_memory(GstAllocator *allocator, GstMemory *memory)
{
  GstCudaJ2kPinnedAllocator *self = (GstCudaJ2kPinnedAllocator *)allocator;
  cj2k_decoder_free(self->owner, CJ2K_MEMORY_PINNED, ((PinnedMemory *)memory)->data);
  g_free(memory);
}

static gpointer map(GstMemory *memory, gsize size, GstMapFlags flags)
{
  (void)size, (void)flags;
  return ((PinnedMemory *)memory)->data;
}

static void unmap(GstMemory *memory)
{
  (void)memory;
}

static void finalize(GObject *object)
{
  GstCudaJ2kPinnedAllocator *self = (GstCudaJ2kPinnedAllocator *)object;
  cj2k_decoder_close(self->owner);
  gst_clear_object((GstObject **)&self->context);
  G_OBJECT_CLASS(gst_cuda_j2k_pinned_allocator_parent_class)->finalize(object);
}

static void gst_cuda_j2k_pinned_allocator_class_init(GstCudaJ2kPinnedAllocatorClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = finalize;
  GST_ALLOCATOR_CLASS(klass)->alloc = alloc;
  GST_ALLOCATOR_CLASS(klass)->free = free_memory;
}

static void gst_cuda_j2k_pinned_allocator_init(GstCudaJ2kPinnedAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR_CAST(self);
  allocator->mem_type = MEMORY_TYPE;
  allocator->mem_map = map;
  allocator->mem_unmap = unmap;
  GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

GstAllocator *gst_cuda_j2k_pinned_allocator_new(GstCudaJ2kContext context, gint device)
{
  Cj2kDecoderParams params;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.cuda_device = device;
  params.cuda_context = gst_cuda_j2k_context_handle(context, &params.cuda_device);
  params.num_threads = params.frames_in_flight = 1;
  Cj2kDecoder *owner = cj2k_decoder_open(&params, NULL);
  if (!owner)
    return NULL;
  GstCudaJ2kPinnedAllocator *self = g_object_new(gst_cuda_j2k_pinned_allocator_get_type(), NULL);
  gst_object_ref_sink(self);
  self->owner = owner;
  self->context = context ? gst_object_ref(context) : NULL;
  return GST_ALLOCATOR_CAST(self);
}

gboolean gst_cuda_j2k_buffer_is_pinned(GstBuffer *buffer)
{
  return gst_buffer_n_memory(buffer) == 1 &&
         gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), MEMORY_TYPE);
}
