export { openKubernetesDriver, type KubernetesDriver, type KubernetesDriverInput } from './driver.ts';
export type { BuildSettings, ClusterSettings } from './manifests/settings.ts';
export { roleObjects, roleRules, type RoleNames } from './cluster/role.ts';
export { toKubernetesCron } from './capabilities/cron-expression.ts';
