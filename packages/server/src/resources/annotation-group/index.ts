export { mountAnnotationGroup } from './routes.ts';
export { readAnnotationGroups, shareAnnotationGroups, type AnnotationGroup } from './annotation-group.ts';
