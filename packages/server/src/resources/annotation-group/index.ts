export { mountAnnotationGroup } from './routes.ts';
export { checkAnnotations, readAnnotationGroups, shareAnnotationGroups, type AnnotationGroup } from './annotation-group.ts';
