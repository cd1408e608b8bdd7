import Type from 'typebox';
import { operation } from '../operation.ts';
import { Nullable, Named } from '../shape.ts';
import type { Kind } from './kinds.ts';

const Network = Named('ServiceNetwork', Type.Object({ sticky_session: Type.Boolean({ default: false }) }));

const target = 'service' as const;

/**
 * Returns the operations read and edit. The advanced setting `network.ingress.enable_sticky_session` is an alias of
 * this setting.
 */
export function networkOperations<const K extends Kind>(kind: K) {
  const path = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/network` as const;
  const tag = kind.Noun;
  return {
    network: operation({
      id: `get${kind.Noun as K['Noun']}Network`,
      method: 'GET',
      path,
      tag,
      summary: `Read how the gateway distributes requests over the instances of ${kind.one}`,
      scope: 'READ',
      target,
      status: 200,
      response: Network,
      errors: [],
    }),
    editNetwork: operation({
      id: `edit${kind.Noun as K['Noun']}Network`,
      method: 'PUT',
      path,
      tag,
      summary: `Edit how the gateway distributes requests over the instances of ${kind.one}: sticky_session keeps a client on one instance by a cookie, from the next deployment on`,
      scope: 'WRITE',
      target,
      body: Named(
        'ServiceNetworkRequest',
        Type.Object({ sticky_session: Type.Optional(Nullable(Type.Boolean({ default: false }))) }),
      ),
      status: 201,
      response: Network,
      errors: [400, 409],
    }),
  };
}
