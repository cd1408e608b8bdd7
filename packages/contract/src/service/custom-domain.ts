import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Nullable, Uuid, Words, Named } from '../shape.ts';
import type { Kind } from './kinds.ts';

/** Results of the DNS check of a domain, as named in the contract. */
export const domainChecks = [
  'RESOLVES_TO_IP',
  'MATCHES_LOAD_BALANCER_HOST',
  'DOMAIN_NOT_CONFIGURED',
  'DOMAIN_LINKED_TO_WRONG_HOST',
  'GENERIC_FAILURE',
] as const;

/** WAITING: the owner of the domain must act. States after SERVED mean that an earlier certificate is still served. */
export const certificateStatuses = [
  'NOT_SERVED',
  'WAITING',
  'ISSUING',
  'FAILED',
  'SERVED',
  'RENEWAL_FAILING',
  'EXPIRED',
] as const;

const CustomDomain = Named(
  'CustomDomain',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    domain: Type.String(),
    generate_certificate: Type.Boolean(),
    use_cdn: Type.Optional(Type.Boolean()),
    validation_domain: Type.Optional(Type.String()),
    // The contract allows only this value.
    status: Type.Optional(Words(['VALIDATION_PENDING'] as const)),
  }),
);

/** The custom domain with details that are determined at the time of reading. */
const CustomDomainStatus = Named(
  'CustomDomainStatus',
  Type.Object({
    ...CustomDomain.properties,
    dns_status: Words(domainChecks),
    dns_details: Nullable(Type.String()),
    // Whether the organization is proven to own the domain. The gateway does not serve the domain before.
    ownership_status: Words(['PROVEN', 'UNPROVEN', 'TAKEN'] as const),
    ownership_details: Nullable(Type.String()),
    certificate_status: Words(certificateStatuses),
    // The state of the certificate, or the action that the owner must take.
    certificate_details: Type.String(),
    certificate_valid_until: Nullable(DateTime),
    // Time of the next attempt after a failure.
    certificate_next_attempt: Nullable(DateTime),
  }),
);

const flags = {
  generate_certificate: Type.Optional(Nullable(Type.Boolean({ default: true }))),
  use_cdn: Type.Optional(Nullable(Type.Boolean({ default: false }))),
};
// The limit is higher than that of a host name, as the length of a name that is not ASCII changes when it is converted.
const domain = Type.String({ minLength: 1, maxLength: 1000 });

const target = 'service' as const;

/**
 * Returns the operations list, create, edit, delete and check. `Word`: the name of the kind in the ids of operations on
 * an existing domain; empty for applications.
 */
export function customDomainOperations<const K extends Kind, const Word extends string>(
  kind: K,
  { Word }: { readonly Word: Word },
) {
  const all = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/customDomain` as const;
  const one = `${all}/{customDomainId}` as const;
  const tag = kind.Noun;
  return {
    customDomains: operation({
      id: `list${kind.Noun as K['Noun']}CustomDomain`,
      method: 'GET',
      path: all,
      tag,
      summary: `List the custom domains of ${kind.one}`,
      scope: 'READ',
      target,
      status: 200,
      response: List(CustomDomain),
      errors: [],
    }),
    createCustomDomain: operation({
      id: `create${kind.Noun as K['Noun']}CustomDomain`,
      method: 'POST',
      path: all,
      tag,
      summary: `Add a custom domain to ${kind.one}; it answers there from the next deployment on`,
      scope: 'WRITE',
      target,
      body: Named('CustomDomainRequest', Type.Object({ domain, ...flags })),
      status: 201,
      response: CustomDomain,
      errors: [400, 409],
    }),
    editCustomDomain: operation({
      id: `edit${Word}CustomDomain`,
      method: 'PUT',
      path: one,
      tag,
      summary: `Edit a custom domain of ${kind.one}; the next deployment applies it`,
      scope: 'WRITE',
      target,
      body: Named('CustomDomainEditRequest', Type.Object({ domain: Type.Optional(domain), ...flags })),
      status: 200,
      response: CustomDomain,
      errors: [400, 409],
    }),
    deleteCustomDomain: operation({
      id: `delete${Word}CustomDomain`,
      method: 'DELETE',
      path: one,
      tag,
      summary: `Remove a custom domain from ${kind.one}; it answers there until the next deployment`,
      scope: 'WRITE',
      target,
      status: 204,
      response: null,
      errors: [409],
    }),
    checkCustomDomains: operation({
      id: `check${kind.Noun as K['Noun']}CustomDomain`,
      method: 'GET',
      path: `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/checkCustomDomain`,
      tag,
      summary: `Check in DNS whether the custom domains of ${kind.one} point here`,
      scope: 'READ',
      target,
      status: 200,
      response: List(
        Named(
          'CustomDomainCheck',
          Type.Object({
            domain_name: Type.String(),
            status: Words(domainChecks),
            error_details: Type.Optional(Nullable(Type.String())),
          }),
        ),
      ),
      errors: [],
    }),
  };
}

/** Returns the operation that reads one custom domain of a kind that runs as processes. */
export function customDomainStatusOperations<const K extends Kind, const Word extends string>(
  kind: K,
  { Word }: { readonly Word: Word },
) {
  return {
    customDomain: operation({
      id: `get${Word}CustomDomainStatus`,
      method: 'GET',
      path: `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/customDomain/{customDomainId}/status`,
      tag: kind.Noun,
      summary: `Read a custom domain of ${kind.one}, what DNS says of it now, and whether a certificate is served for it`,
      scope: 'READ',
      target,
      status: 200,
      response: CustomDomainStatus,
      errors: [],
    }),
  };
}

/** Returns the operation that reads one custom domain of a helm service. */
export function customDomainReadOperations<const K extends Kind>(kind: K) {
  return {
    customDomain: operation({
      id: `get${kind.Noun as K['Noun']}CustomDomain`,
      method: 'GET',
      path: `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/customDomain/{customDomainId}`,
      tag: kind.Noun,
      summary: `Read a custom domain of ${kind.one}, what DNS says of it now, and whether a certificate is served for it`,
      scope: 'READ',
      target,
      status: 200,
      response: CustomDomainStatus,
      errors: [],
    }),
  };
}
