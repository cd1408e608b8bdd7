import type { DeploymentRequest } from '@davit/engine/port';

/** The same request for telling what would change. It is not merged into one that waits, which would be taken for it. */
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
