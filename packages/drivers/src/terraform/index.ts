export { Terraform } from './terraform.ts';
export { ClusterTerraform, type ClusterTerraformInput } from './cluster/cluster-terraform.ts';
export { defaultImages as defaultTerraformImages, type TerraformImages } from './cluster/pod.ts';
