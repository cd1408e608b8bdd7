import { expect, test } from 'vitest';
import { ingressStatus, type IngressFacts } from './ingress.ts';

const served: IngressFacts = {
  view: { state: 'DEPLOYED', actionStatus: 'SUCCESS', runningStatus: 'RUNNING', wantedInstances: 1, runningInstances: 1 },
  isDeployed: true,
  ports: [{ id: 'web' }, { id: 'admin' }],
  routes: [
    { id: 'web', backends: 1 },
    { id: 'admin', backends: 2 },
  ],
  certificates: ['SERVED', 'NOT_SERVED', 'RENEWAL_FAILING'],
};
const view = (part: Partial<IngressFacts['view']>): IngressFacts => ({ ...served, view: { ...served.view, ...part } });

test.each<readonly [string, IngressFacts, string]>([
  ['all routes lead somewhere', served, 'DEPLOYED'],
  ['the former release serves after a failed deployment', view({ state: 'DEPLOYMENT_ERROR', actionStatus: 'ERROR' }), 'DEPLOYED'],
  ['a deployment is under way', view({ state: 'DEPLOYING', actionStatus: 'ONGOING' }), 'DEPLOYING'],
  ['a deletion waits', view({ state: 'DELETE_QUEUED', actionStatus: 'QUEUED' }), 'DELETE_QUEUED'],
  ['nothing was deployed', { ...view({ state: 'READY', actionStatus: 'NEVER' }), isDeployed: false, ports: [] }, 'READY'],
  ['the first deployment failed', { ...view({ state: 'BUILD_ERROR', actionStatus: 'ERROR' }), isDeployed: false }, 'BUILD_ERROR'],
  ['nothing of it is public', { ...served, ports: [] }, 'READY'],
  ['it is stopped', view({ state: 'STOPPED', runningStatus: 'STOPPED' }), 'STOPPED'],
  ['no instance is wanted', view({ wantedInstances: 0 }), 'STOPPED'],
  [
    'a route leads nowhere',
    {
      ...served,
      routes: [
        { id: 'web', backends: 1 },
        { id: 'admin', backends: 0 },
      ],
    },
    'UNAVAILABLE',
  ],
  ['a route is missing', { ...served, routes: [{ id: 'web', backends: 1 }] }, 'UNAVAILABLE'],
  ['nobody here knows the routes, and instances run', { ...served, routes: null }, 'DEPLOYED'],
  ['nobody here knows the routes, and none runs', { ...view({ runningInstances: 0 }), routes: null }, 'UNAVAILABLE'],
  ['a certificate is being made', { ...served, certificates: ['SERVED', 'ISSUING'] }, 'DEPLOYING'],
  ['a certificate waits for DNS', { ...served, certificates: ['WAITING'] }, 'DEPLOYING'],
  ['a certificate cannot be made', { ...served, certificates: ['ISSUING', 'FAILED'] }, 'DEPLOYMENT_ERROR'],
  ['a certificate has ended', { ...served, certificates: ['EXPIRED'] }, 'DEPLOYMENT_ERROR'],
])('%s', (_name, facts, status) => {
  expect(ingressStatus(facts)).toBe(status);
});
