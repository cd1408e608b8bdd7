export { dockerfileFacts, type DockerfileFacts } from './facts.ts';
export { createImageBuilder, type ImageBuilderInput } from './image-builder.ts';
