import type { Database } from '@davit/db';
import type { EngineHooks } from '@davit/engine/port';
import type { Configuration } from '../configuration.ts';
import type { Vault } from '../secrets/vault.ts';
import { gatewayDomains } from './certificate/index.ts';
import { claimCluster, readClusterAccess } from './cluster/index.ts';
import { imageDigest, imageName, isPlainRegistry, registryCredentials } from './container-registry/index.ts';
import { domainRemarks } from './custom-domain/index.ts';
import { rollbackRemarks } from './git-event/index.ts';
import { removeEnvironment } from './environment/index.ts';
import { gitCredentials } from './git-token/index.ts';
import { readChartArchive } from './helm-repository/index.ts';
import { removeService } from './service/index.ts';
import { readSecretValues, storeOutputs } from './variable/index.ts';
import { addDeploymentEvent } from './webhook/index.ts';

/** Returns the functions by which the engine reads and changes records of the resources. */
export function engineHooks(database: Database, vault: Vault, config: Configuration): EngineHooks {
  return {
    secrets: async (ids) => {
      const rows = await database.many(readSecretValues, [[...ids]]);
      return new Map(rows.map(({ id, sealed }) => [id, vault.open(id, sealed)]));
    },
    gitCredentials: (gitTokenId, url) => gitCredentials({ database, vault }, gitTokenId, url),
    registryCredentials: (registryId) => registryCredentials(database, vault, registryId),
    imageDigest: (registryId, image) => imageDigest({ database, vault, config }, registryId, image),
    imageName: (registryId, name) => imageName(database, registryId, name),
    helmChart: (repositoryId, chart) => readChartArchive({ database, vault, config }, repositoryId, chart),
    isPlainRegistry: (registryId) => isPlainRegistry(database, registryId),
    domainRemarks: (serviceId) => domainRemarks(database, config, serviceId),
    releaseRemarks: (serviceId, releaseId) => rollbackRemarks(database, serviceId, releaseId),
    gatewayDomains: gatewayDomains(database, vault),
    clusters: () => readClusterAccess(database, vault),
    claimCluster: (clusterId, identity) => claimCluster(database, clusterId, identity),
    deploymentStarted: (tx, id, action) => addDeploymentEvent(tx, id, action, 'STARTED'),
    deploymentEnded: (tx, id, action, status) => addDeploymentEvent(tx, id, action, status),
    serviceDeleted: (tx, serviceId) => removeService(tx, serviceId),
    environmentDeleted: (tx, environmentId) => removeEnvironment(tx, environmentId),
    seal: (recordId, text) => vault.seal(recordId, text),
    open: (recordId, sealed) => vault.open(recordId, sealed),
    serviceOutputs: (serviceId, outputs) => storeOutputs({ database, vault, prefix: config.variablePrefix }, serviceId, outputs),
  };
}
