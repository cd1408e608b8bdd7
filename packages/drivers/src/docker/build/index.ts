export { createImageBuilder, type ImageBuilderInput } from './image-builder.ts';
export { imageKey, type ImageContent } from './image-key.ts';
