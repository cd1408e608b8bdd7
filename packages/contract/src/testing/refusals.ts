/** Operations that refuse every request at present, and why. Their examples are refusals. */
export const refusals: Readonly<Record<string, string>> = {
  createProjectEnvironmentVariableOverride: 'nothing is wider than a project, so there is nothing to override',
  createProjectSecretOverride: 'nothing is wider than a project, so there is nothing to override',
  getClusterKubernetesEvents: 'only a deployed cluster of a vendor has them, and Davit deploys none yet',
  getClusterTokenByClusterId: 'only a deployed cluster of a vendor has one, and Davit deploys none yet',
  getInstallationHelmValues: 'only a deployed cluster of a vendor has them, and Davit deploys none yet',
  stopCluster: 'Davit stops no cluster on which something is deployed, and no other one can be stopped',
};
