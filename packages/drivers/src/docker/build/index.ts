export { dockerfileFacts, type DockerfileFacts } from '../../shared/build/facts.ts';
export { createImageBuilder, type ImageBuilderInput } from './image-builder.ts';
