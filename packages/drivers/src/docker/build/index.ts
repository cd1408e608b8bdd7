export { createImageBuilder, type ImageBuilderInput } from './image-builder.ts';
