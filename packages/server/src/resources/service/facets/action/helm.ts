import type { DeploymentRequest } from '@davit/engine/port';

/**
 * Returns the request as a diff, which only reports changes. Its merge key keeps it out of a waiting request for a
 * deployment.
 */
export function forDiff(request: DeploymentRequest, isDiff: boolean): DeploymentRequest {
  if (!isDiff) return request;
  const services = request.services.map((service) => {
    const { release } = service;
    if (release === undefined || !('config' in release) || release.config.source.type !== 'HELM') return service;
    const source = { ...release.config.source, action: 'DIFF' as const };
    return { ...service, release: { ...release, config: { ...release.config, source } } };
  });
  return { ...request, services, mergeKey: 'DIFF' };
}
