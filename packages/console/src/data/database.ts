import type { CallAnswer } from '@davit/client';
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import type { Service } from '../words.ts';

export type Backup = CallAnswer<'listDatabaseBackup'>['results'][number];
export type Restore = CallAnswer<'listDatabaseRestore'>['results'][number];
export type Credentials = CallAnswer<'getDatabaseMasterCredentials'>;

/** Milliseconds after which a backup that is being made is looked at again: backups have no events. */
const again = 2000;
const ended = new Set<string>(['GOOD', 'FAILED', 'SUCCEEDED']);

/** The newest backups of a database. */
export const backupsOf = ({ id, environment }: Service) =>
  queryOptions({
    queryKey: ['backups', environment.id, id],
    queryFn: async ({ signal }) => (await api().call('listDatabaseBackup', { params: { databaseId: id }, signal })).results,
    refetchInterval: ({ state: { data = [] } }) => (data.every((one) => ended.has(one.backup_state)) ? false : again),
  });

/** The restores into a database. */
export const restoresOf = ({ id, environment }: Service) =>
  queryOptions({
    queryKey: ['restores', environment.id, id],
    queryFn: async ({ signal }) => (await api().call('listDatabaseRestore', { params: { databaseId: id }, signal })).results,
    refetchInterval: ({ state: { data = [] } }) => (data.every((one) => ended.has(one.restore_state)) ? false : again),
  });

/** The applications that use a database. */
export const usersOf = ({ id, environment }: Service) =>
  queryOptions({
    queryKey: ['databaseUsers', environment.id, id],
    queryFn: async ({ signal }) => (await api().call('listDatabaseApplication', { params: { databaseId: id }, signal })).results,
  });
