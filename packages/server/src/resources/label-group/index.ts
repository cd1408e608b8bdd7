export { mountLabelGroup } from './routes.ts';
export { readLabelGroups, shareLabelGroups, type LabelGroup } from './label-group.ts';
