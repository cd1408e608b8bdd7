import type { CallInput } from '@davit/client';
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import type { Json } from './paths.ts';
import type { Service, ServiceType } from '../words.ts';

/** A record as JSON, with the version that an edit of it names. */
export type Stored = { readonly [name: string]: Json };

type Calls = {
  readonly read: (id: string, signal: AbortSignal) => Promise<object>;
  readonly edit: (id: string, body: object, ifUpdatedAt: string) => Promise<unknown>;
  readonly remove: (id: string) => Promise<unknown>;
  readonly readAdvanced?: (id: string, signal: AbortSignal) => Promise<object>;
  readonly editAdvanced?: (id: string, body: object) => Promise<unknown>;
};

/*
 * The fields of an edit come from the table of settings, so that the compiler cannot know them. The server checks
 * each field and names those that are wrong.
 */
type AnyEdit = 'editApplication' | 'editContainer' | 'editDatabase' | 'editJob' | 'editHelm' | 'editTerraform';
function edit<Id extends AnyEdit>(body: object): CallInput<Id>['body'] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return body as CallInput<Id>['body'];
}
type AnyAdvanced =
  | 'editAdvancedSettings'
  | 'editContainerAdvancedSettings'
  | 'editJobAdvancedSettings'
  | 'editTerraformAdvancedSettings';
function advanced<Id extends AnyAdvanced>(body: object): CallInput<Id>['body'] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return body as CallInput<Id>['body'];
}

const calls: Readonly<Record<ServiceType, Calls>> = {
  APPLICATION: {
    read: (applicationId, signal) => api().call('getApplication', { params: { applicationId }, signal }),
    edit: (applicationId, body, ifUpdatedAt) =>
      api().call('editApplication', { params: { applicationId }, body: edit<'editApplication'>(body), ifUpdatedAt }),
    remove: (applicationId) => api().call('deleteApplication', { params: { applicationId } }),
    readAdvanced: (applicationId, signal) => api().call('getAdvancedSettings', { params: { applicationId }, signal }),
    editAdvanced: (applicationId, body) =>
      api().call('editAdvancedSettings', { params: { applicationId }, body: advanced<'editAdvancedSettings'>(body) }),
  },
  CONTAINER: {
    read: (containerId, signal) => api().call('getContainer', { params: { containerId }, signal }),
    edit: (containerId, body, ifUpdatedAt) =>
      api().call('editContainer', { params: { containerId }, body: edit<'editContainer'>(body), ifUpdatedAt }),
    remove: (containerId) => api().call('deleteContainer', { params: { containerId } }),
    readAdvanced: (containerId, signal) => api().call('getContainerAdvancedSettings', { params: { containerId }, signal }),
    editAdvanced: (containerId, body) =>
      api().call('editContainerAdvancedSettings', {
        params: { containerId },
        body: advanced<'editContainerAdvancedSettings'>(body),
      }),
  },
  DATABASE: {
    read: (databaseId, signal) => api().call('getDatabase', { params: { databaseId }, signal }),
    edit: (databaseId, body, ifUpdatedAt) =>
      api().call('editDatabase', { params: { databaseId }, body: edit<'editDatabase'>(body), ifUpdatedAt }),
    remove: (databaseId) => api().call('deleteDatabase', { params: { databaseId } }),
  },
  JOB: {
    read: (jobId, signal) => api().call('getJob', { params: { jobId }, signal }),
    edit: (jobId, body, ifUpdatedAt) => api().call('editJob', { params: { jobId }, body: edit<'editJob'>(body), ifUpdatedAt }),
    remove: (jobId) => api().call('deleteJob', { params: { jobId } }),
    readAdvanced: (jobId, signal) => api().call('getJobAdvancedSettings', { params: { jobId }, signal }),
    editAdvanced: (jobId, body) =>
      api().call('editJobAdvancedSettings', { params: { jobId }, body: advanced<'editJobAdvancedSettings'>(body) }),
  },
  HELM: {
    read: (helmId, signal) => api().call('getHelm', { params: { helmId }, signal }),
    edit: (helmId, body, ifUpdatedAt) =>
      api().call('editHelm', { params: { helmId }, body: edit<'editHelm'>(body), ifUpdatedAt }),
    remove: (helmId) => api().call('deleteHelm', { params: { helmId } }),
  },
  TERRAFORM: {
    read: (terraformId, signal) => api().call('getTerraform', { params: { terraformId }, signal }),
    edit: (terraformId, body, ifUpdatedAt) =>
      api().call('editTerraform', { params: { terraformId }, body: edit<'editTerraform'>(body), ifUpdatedAt }),
    remove: (terraformId) => api().call('deleteTerraform', { params: { terraformId } }),
    readAdvanced: (terraformId, signal) => api().call('getTerraformAdvancedSettings', { params: { terraformId }, signal }),
    editAdvanced: (terraformId, body) =>
      api().call('editTerraformAdvancedSettings', {
        params: { terraformId },
        body: advanced<'editTerraformAdvancedSettings'>(body),
      }),
  },
};

function stored(record: object): Stored {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the API answers is JSON
  return record as Stored;
}

/** The record of a service, as its settings are read from it. */
export const recordOf = ({ id, service_type: type, environment }: Service) =>
  queryOptions({
    queryKey: ['record', environment.id, id],
    queryFn: async ({ signal }) => stored(await calls[type].read(id, signal)),
  });

/** The advanced settings of a service with their defaults; none for a kind without them. */
export const advancedOf = ({ id, service_type: type, environment }: Service) =>
  queryOptions({
    queryKey: ['advanced', environment.id, id],
    queryFn: async ({ signal }) => stored((await calls[type].readAdvanced?.(id, signal)) ?? {}),
  });

/** Edits a service. The server refuses it if the record was changed since `ifUpdatedAt`. */
export async function editService({ id, service_type: type }: Service, body: object, ifUpdatedAt: string): Promise<void> {
  await calls[type].edit(id, body, ifUpdatedAt);
}

export async function editAdvanced({ id, service_type: type }: Service, body: object): Promise<void> {
  await calls[type].editAdvanced?.(id, body);
}

/** Deletes a service with all that it has on the cluster. */
export async function deleteService({ id, service_type: type }: Service): Promise<void> {
  await calls[type].remove(id);
}
