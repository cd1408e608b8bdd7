import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { credentialsOf } from '../../data/organization.ts';
import { send, type SendId } from '../../data/send.ts';
import type { Entry } from '../../parts/entries.tsx';
import { filled } from '../../parts/values.ts';
import { Cut } from '../../parts/page.tsx';
import { sentence } from '../../words.ts';
import { valueAt, withValueAt, type Json } from '../../data/paths.ts';
import { RecordPart } from './record-page.tsx';

/** A field of the form that chooses the operation. It is not sent. */
const chosenProvider = '_provider';

interface Provider {
  readonly create: SendId;
  readonly edit: SendId;
  readonly remove: SendId;
  /** Fields with their controls. Those whose names have `secret`, `password` or `credentials` are secret. */
  readonly fields: (values: Json) => readonly string[];
}

const providers: Readonly<Record<'AWS' | 'VENDORA' | 'VENDORB' | 'CLOUDC' | 'ON_PREMISE', Provider>> = {
  AWS: {
    create: 'createAWSCredentials',
    edit: 'editAWSCredentials',
    remove: 'deleteAWSCredentials',
    fields: (values) => (valueAt(values, 'type') === 'AWS_ROLE' ? ['role_arn'] : ['access_key_id', 'secret_access_key']),
  },
  VENDORA: {
    create: 'createVendoraCredentials',
    edit: 'editVendoraCredentials',
    remove: 'deleteVendoraCredentials',
    fields: () => ['vendora_access_key', 'vendora_secret_key', 'vendora_project_id', 'vendora_organization_id'],
  },
  VENDORB: {
    create: 'createVendorbCredentials',
    edit: 'editVendorbCredentials',
    remove: 'deleteVendorbCredentials',
    fields: () => ['vendorb_subscription_id', 'vendorb_tenant_id'],
  },
  CLOUDC: {
    create: 'createCloudcCredentials',
    edit: 'editCloudcCredentials',
    remove: 'deleteCloudcCredentials',
    fields: () => ['cloudc_credentials'],
  },
  ON_PREMISE: {
    create: 'createOnPremiseCredentials',
    edit: 'editOnPremiseCredentials',
    remove: 'deleteOnPremiseCredentials',
    fields: () => [],
  },
};
type ProviderName = keyof typeof providers;
const providerNames = Object.keys(providers).filter((name): name is ProviderName => name in providers);

function providerOf(objectType: string): ProviderName {
  const found = providerNames.find((name) => objectType.startsWith(name));
  return found ?? (objectType.startsWith('EKS') ? 'AWS' : 'ON_PREMISE');
}

function chosen(values: Json): Provider {
  const name = valueAt(values, chosenProvider);
  return providers[providerNames.find((one) => one === name) ?? 'AWS'];
}

function entriesOf(values: Json, isNew: boolean): Entry[] {
  const isAws = chosen(values) === providers.AWS;
  const type: Entry = {
    path: 'type',
    label: 'Way',
    control: {
      kind: 'pick',
      options: [
        ['AWS_STATIC', 'A key'],
        ['AWS_ROLE', 'A role'],
      ],
    },
  };
  const provider: Entry = {
    path: chosenProvider,
    label: 'Provider',
    control: { kind: 'pick', options: providerNames.map((name) => [name, name === 'AWS' ? name : sentence(name)]) },
  };
  return [
    { path: 'name', label: 'Name', control: { kind: 'text' } },
    ...(isNew ? [provider] : []),
    ...(isAws ? [type] : []),
    ...chosen(values)
      .fields(values)
      .map((name): Entry => {
        const isSecret = /secret|credentials/.test(name);
        return {
          path: name,
          label: sentence(name),
          ...(isSecret && { help: 'Never shown again. Empty in an edit: it stays.' }),
          control: { kind: name === 'cloudc_credentials' ? 'secret-code' : isSecret ? 'secret' : 'text' },
        };
      }),
  ];
}

/** Returns the request: the fields of the provider, and nothing of another one. */
function bodyOf(values: Json): Json {
  const fields = chosen(values).fields(values);
  const type = chosen(values) === providers.AWS ? { type: valueAt(values, 'type') ?? 'AWS_STATIC' } : {};
  return filled({
    name: valueAt(values, 'name'),
    ...type,
    ...Object.fromEntries(fields.map((name) => [name, valueAt(values, name)])),
  });
}

/** The credentials of cloud accounts, and the clusters that use them. */
export function CredentialsPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const params = { organizationId };
  return (
    <RecordPart
      kind={{
        title: 'Cloud credentials',
        one: 'credentials',
        about: 'Clusters and Terraform runs use them.',
        empty: 'A cluster of your own machines needs none.',
        query: useQuery(credentialsOf(organizationId)),
        queryKey: credentialsOf(organizationId).queryKey,
        params,
        create: 'createOnPremiseCredentials',
        begin: (values) => send(chosen(values).create, params, bodyOf(values)),
        edit: ({ object_type: type }) => providers[providerOf(type)].edit,
        remove: ({ object_type: type }) => providers[providerOf(type)].remove,
        idParameter: 'credentialsId',
        lost: 'The secret is lost here. The provider still accepts it: revoke it there.',
        initial: (record) => {
          if (record === null) return { [chosenProvider]: 'AWS', type: 'AWS_STATIC' };
          const { id: _id, clusters: _clusters, object_type: type, ...shown } = record;
          const way = type === 'AWS_ROLE' ? 'AWS_ROLE' : 'AWS_STATIC';
          return withValueAt({ ...shown, type: way }, chosenProvider, providerOf(type));
        },
        entries: (values, record) => entriesOf(values, record === null),
        body: bodyOf,
        columns: [
          {
            title: 'Name',
            cell: ({ name, object_type: type }) => (
              <>
                <div className="name">
                  <Cut text={name} />
                </div>
                <div className="under">{type.startsWith('AWS') ? type.replace('_ROLE', ', by a role') : sentence(type)}</div>
              </>
            ),
          },
          {
            title: 'Clusters',
            cell: ({ clusters }) =>
              clusters.length === 0 ? (
                <span className="text-muted">None</span>
              ) : (
                <Cut text={clusters.map(({ name }) => name).join(', ')} />
              ),
          },
        ],
      }}
    />
  );
}
