/** Operations that refuse every request at present, and why. Their examples are refusals. */
export const refusals: Readonly<Record<string, string>> = {
  createProjectEnvironmentVariableOverride: 'nothing is wider than a project, so there is nothing to override',
  createProjectSecretOverride: 'nothing is wider than a project, so there is nothing to override',
  getClusterKubernetesEvents: 'Davit reads no events of clusters yet',
  getClusterTokenByClusterId: 'only a cluster that Davit installs would have one, and it installs none yet',
  getInstallationHelmValues: 'Davit installs no chart of its own on clusters',
  stopCluster: 'Davit stops no cluster on which something is deployed, and no other one can be stopped',
};
