import type { DeploymentRequest } from '@davit/engine/port';

/**
 * Returns the request as a diff, which only reports changes. The queue must not merge a diff into a waiting request for
 * a deployment, so the actor of the diff is marked.
 */
export function forDiff(request: DeploymentRequest, isDiff: boolean): DeploymentRequest {
  if (!isDiff) return request;
  const services = request.services.map((service) => {
    const { release } = service;
    if (release === undefined || !('config' in release) || release.config.source.type !== 'HELM') return service;
    const source = { ...release.config.source, action: 'DIFF' as const };
    return { ...service, release: { ...release, config: { ...release.config, source } } };
  });
  return { ...request, services, trigger: { ...request.trigger, actor: `${request.trigger.actor} DIFF` } };
}
