import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { annotationGroupsOf, labelGroupsOf } from '../../data/organization.ts';
import type { Entry } from '../../parts/entries.tsx';
import { Cut } from '../../parts/page.tsx';
import { plural, sentence } from '../../words.ts';
import { RecordPart } from './record-page.tsx';

const scopes = [
  'DEPLOYMENTS',
  'STATEFUL_SETS',
  'SERVICES',
  'INGRESS',
  'GATEWAY_API_ROUTES',
  'HPA',
  'PODS',
  'SECRETS',
  'JOBS',
  'CRON_JOBS',
] as const;

const name: Entry = { path: 'name', label: 'Name', control: { kind: 'text' } };

/** Groups of labels and annotations that services name, for what Davit creates on a Kubernetes cluster. */
export function GroupsPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  return (
    <>
      <LabelGroups organizationId={organizationId} />
      <AnnotationGroups organizationId={organizationId} />
    </>
  );
}

function LabelGroups({ organizationId }: { readonly organizationId: string }): ReactNode {
  const params = { organizationId };
  return (
    <RecordPart
      kind={{
        title: 'Label groups',
        one: 'label group',
        empty: 'Services and clusters that name a group get its labels.',
        query: useQuery(labelGroupsOf(organizationId)),
        queryKey: labelGroupsOf(organizationId).queryKey,
        params,
        create: 'createOrganizationLabelsGroup',
        edit: 'editOrganizationLabelsGroup',
        remove: 'deleteOrganizationLabelsGroup',
        idParameter: 'labelsGroupId',
        lost: 'Its labels are lost.',
        initial: (record) =>
          record === null
            ? { labels: [{ key: '', value: '', propagate_to_cloud_provider: false }] }
            : { name: record.name, labels: record.labels },
        entries: () => [
          name,
          {
            path: 'labels',
            label: 'Labels',
            control: {
              kind: 'rows',
              add: 'Add a label',
              blank: { key: '', value: '', propagate_to_cloud_provider: false },
              columns: [
                { name: 'key', label: 'Key', kind: 'text' },
                { name: 'value', label: 'Value', kind: 'text' },
                { name: 'propagate_to_cloud_provider', label: 'Cloud', kind: 'check', width: '48px' },
              ],
            },
          },
        ],
        columns: [
          {
            title: 'Group',
            cell: (group) => (
              <>
                <div className="name">
                  <Cut text={group.name} />
                </div>
                <div className="under">
                  <Cut text={group.labels.map(({ key, value }) => `${key}=${value}`).join(', ')} />
                </div>
              </>
            ),
          },
          { title: 'Used by', width: '20%', cell: ({ associated_items_count: count = 0 }) => plural(count, 'record') },
        ],
      }}
    />
  );
}

function AnnotationGroups({ organizationId }: { readonly organizationId: string }): ReactNode {
  const params = { organizationId };
  return (
    <RecordPart
      kind={{
        title: 'Annotation groups',
        one: 'annotation group',
        empty: 'Services that name a group get its annotations on the objects of its scopes.',
        query: useQuery(annotationGroupsOf(organizationId)),
        queryKey: annotationGroupsOf(organizationId).queryKey,
        params,
        create: 'createOrganizationAnnotationsGroup',
        edit: 'editOrganizationAnnotationsGroup',
        remove: 'deleteOrganizationAnnotationsGroup',
        idParameter: 'annotationsGroupId',
        lost: 'Its annotations are lost.',
        initial: (record) =>
          record === null
            ? { annotations: [{ key: '', value: '' }], scopes: ['DEPLOYMENTS'] }
            : { name: record.name, annotations: record.annotations, scopes: record.scopes },
        entries: () => [
          name,
          {
            path: 'annotations',
            label: 'Annotations',
            control: {
              kind: 'rows',
              add: 'Add an annotation',
              blank: { key: '', value: '' },
              columns: [
                { name: 'key', label: 'Key', kind: 'text' },
                { name: 'value', label: 'Value', kind: 'text' },
              ],
            },
          },
          {
            path: 'scopes',
            label: 'Scopes',
            help: `One a line: ${scopes.join(', ')}.`,
            control: { kind: 'lines' },
          },
        ],
        columns: [
          {
            title: 'Group',
            cell: (group) => (
              <>
                <div className="name">
                  <Cut text={group.name} />
                </div>
                <div className="under">
                  <Cut text={group.annotations.map(({ key, value }) => `${key}=${value}`).join(', ')} />
                </div>
              </>
            ),
          },
          { title: 'On', isWideOnly: true, cell: (group) => <Cut text={group.scopes.map(sentence).join(', ')} /> },
          { title: 'Used by', width: '14%', cell: ({ associated_items_count: count = 0 }) => plural(count, 'record') },
        ],
      }}
    />
  );
}
