import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, List, Named, Nullable, Uuid, Words } from '../shape.ts';
import type { Kind } from './kinds.ts';

/** Results of the DNS check of a domain, as named in the contract. */
export const domainChecks = enumeration(
  'DomainCheck',
  {
    RESOLVES_TO_IP: 'It has an address; with `use_cdn` more is not known.',
    MATCHES_LOAD_BALANCER_HOST: 'It leads to `validation_domain`.',
    DOMAIN_NOT_CONFIGURED: 'The name does not exist.',
    DOMAIN_LINKED_TO_WRONG_HOST: 'It leads elsewhere.',
    GENERIC_FAILURE: 'DNS gave no answer.',
  },
  'Where a domain leads by DNS.',
);

/** WAITING: the owner of the domain must act. States after SERVED mean that an earlier certificate is still served. */
export const certificateStatuses = enumeration(
  'CertificateStatus',
  {
    NOT_SERVED: 'There will be none: not requested, or HTTPS is off.',
    WAITING: 'Deploy the service, or correct DNS.',
    ISSUING: 'It is being issued.',
    FAILED: 'The authority refused; it is retried.',
    SERVED: 'It is served, and renewed in time.',
    RENEWAL_FAILING: 'Still served, but the last renewal failed.',
    EXPIRED: 'Still served, but it has expired.',
  },
  'Whether a certificate is served for a domain.',
);

const CustomDomain = Named(
  'CustomDomain',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    domain: about('The host name; `*.` matches one label.', Type.String()),
    generate_certificate: about('Whether Davit obtains and renews a certificate.', Type.Boolean()),
    use_cdn: Type.Optional(about('Whether a CDN answers the domain.', Type.Boolean())),
    validation_domain: Type.Optional(about('Where its CNAME record has to lead.', Type.String())),
    // The contract allows only this value.
    status: Type.Optional(about('Always this value; see `dns_status` of its status.', Words(['VALIDATION_PENDING'] as const))),
  }),
  'A domain of yours that leads to a service.',
);

/** The custom domain with details that are determined at the time of reading. */
const CustomDomainStatus = Named(
  'CustomDomainStatus',
  Type.Object({
    ...CustomDomain.properties,
    dns_status: Words(domainChecks),
    dns_details: about('What DNS said, and what is expected; null: all is well.', Nullable(Type.String())),
    // Whether the organization is proven to own the domain. The gateway does not serve the domain before.
    ownership_status: about(
      'Whether the organization is proven to own it.',
      Words({
        PROVEN: 'It may be served.',
        UNPROVEN: 'Create the record in `ownership_details`.',
        TAKEN: 'Another organization has it.',
      }),
    ),
    ownership_details: about('The DNS records to create; null: nothing to do.', Nullable(Type.String())),
    certificate_status: Words(certificateStatuses),
    // The state of the certificate, or the action that the owner must take.
    certificate_details: about('The state of the certificate, and what you have to do.', Type.String()),
    certificate_valid_until: about('When the served certificate expires; null: none.', Nullable(DateTime)),
    // Time of the next attempt after a failure.
    certificate_next_attempt: about('When it is tried again; null: no attempt is planned.', Nullable(DateTime)),
  }),
  'A custom domain, with DNS, ownership and certificate as they are now.',
);

const flags = {
  generate_certificate: Type.Optional(
    about('Whether Davit obtains a certificate; false for a proxy with its own.', Nullable(Type.Boolean({ default: true }))),
  ),
  use_cdn: Type.Optional(
    about('Whether a CDN answers the domain; HTTP is then not redirected.', Nullable(Type.Boolean({ default: false }))),
  ),
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
      description: `
        Returns the configured domains, oldest first. What DNS says of one, and whether a certificate is served for
        it, is in its status.
      `,
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
      summary: `Add a custom domain to ${kind.one}`,
      description: `
        Adds a domain of yours. Create a CNAME record from it to \`validation_domain\` of the answer, then deploy: the
        service answers there from then on. Read the status of the domain for what is missing. It leads to the
        default port; other public ports need a \`public_path\`.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`DOMAIN_TAKEN\` (409) | Another service has the domain, or still answers there. | Remove it there, and deploy or stop that service. |
      `,
      scope: 'WRITE',
      target,
      body: Named(
        'CustomDomainRequest',
        Type.Object({
          domain: about('A host name of at least two labels, in any script; `*.` matches one label.', domain),
          ...flags,
        }),
        'A custom domain to add.',
      ),
      status: 201,
      response: CustomDomain,
      errors: [400, 409],
    }),
    editCustomDomain: operation({
      id: `edit${Word}CustomDomain`,
      method: 'PUT',
      path: one,
      tag,
      summary: `Edit a custom domain of ${kind.one}`,
      description: `
        Changes the name or the flags of a domain; fields that you leave out stay. The next deployment applies it, but
        \`generate_certificate\` false removes the certificate at once.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`DOMAIN_TAKEN\` (409) | Another service has the domain, or still answers there. | Remove it there, and deploy or stop that service. |
      `,
      scope: 'WRITE',
      target,
      body: Named(
        'CustomDomainEditRequest',
        Type.Object({ domain: Type.Optional(about('The new host name; without it the name stays.', domain)), ...flags }),
        'The fields of a custom domain to change; the others stay.',
      ),
      status: 200,
      response: CustomDomain,
      errors: [400, 409],
    }),
    deleteCustomDomain: operation({
      id: `delete${Word}CustomDomain`,
      method: 'DELETE',
      path: one,
      tag,
      summary: `Remove a custom domain from ${kind.one}`,
      description: `
        Removes the domain from the configuration. The service still answers there, with its certificate, until it
        is deployed or stopped.
      `,
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
      summary: `Check the custom domains of ${kind.one}`,
      description: `
        Asks DNS where each custom domain of the service leads now, which can take some seconds. Problems,
        such as a missing proof of ownership, have details. Nothing changes.
      `,
      scope: 'READ',
      target,
      status: 200,
      response: List(
        Named(
          'CustomDomainCheck',
          Type.Object({
            domain_name: about('The checked domain.', Type.String()),
            status: Words(domainChecks),
            error_details: Type.Optional(about('What is wrong; null: nothing.', Nullable(Type.String()))),
          }),
          'Where one domain leads by DNS.',
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
      summary: `Read the status of a custom domain of ${kind.one}`,
      description: `
        Returns the domain with what DNS says of it now, whether the organization is proven to own it, and whether a
        certificate is served; each with what you have to do.
      `,
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
      summary: `Read a custom domain of ${kind.one}`,
      description: `
        Returns the domain with what DNS says of it now, whether the organization is proven to own it, and whether a
        certificate is served; each with what you have to do.
      `,
      scope: 'READ',
      target,
      status: 200,
      response: CustomDomainStatus,
      errors: [],
    }),
  };
}
