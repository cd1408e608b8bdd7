import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Named, Nullable } from '../shape.ts';
import type { Kind } from './kinds.ts';

const Network = Named(
  'ServiceNetwork',
  Type.Object({
    sticky_session: about(
      'Whether the cookie `DAVIT_INSTANCE` keeps a client on one instance.',
      Type.Boolean({ default: false }),
    ),
  }),
  'How the gateway distributes requests.',
);

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
      summary: `Read the network settings of ${kind.one}`,
      description: `
        Returns how the gateway distributes requests over the instances. The advanced setting
        \`network.ingress.enable_sticky_session\` is the same value.
      `,
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
      summary: `Edit the network settings of ${kind.one}`,
      description: `
        Changes how the gateway distributes requests over the instances, from the next deployment on. The advanced
        setting \`network.ingress.enable_sticky_session\` changes with it.
      `,
      scope: 'WRITE',
      target,
      body: Named(
        'ServiceNetworkRequest',
        Type.Object({
          sticky_session: Type.Optional(
            about('Keeps a client on one instance by a cookie; null: the default.', Nullable(Type.Boolean({ default: false }))),
          ),
        }),
        'The network settings to change.',
      ),
      status: 201,
      response: Network,
      errors: [400, 409],
    }),
  };
}
