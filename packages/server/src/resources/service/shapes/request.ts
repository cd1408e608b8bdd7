import type { Body, operations, Response } from '@davit/contract';

export type CreateRequest = Body<(typeof operations)['createApplication']>;
export type EditRequest = Body<(typeof operations)['editApplication']>;
export type DeployRequest = Body<(typeof operations)['deployApplication']>;
/** The operations that return a record of a service, one for each type. */
type Read = 'getApplication' | 'getContainer' | 'getDatabase' | 'getJob' | 'getHelm' | 'getTerraform';
export type ServiceRecord = Response<(typeof operations)[Read]>;
export type ApplicationRecord = Response<(typeof operations)['getApplication']>;

/** The members that requests for services with processes share. */
export type ProcessRequest = Omit<
  EditRequest,
  'name' | 'git_repository' | 'build_mode' | 'dockerfile_path' | 'docker_target_build_stage'
>;

export type PortRequest = NonNullable<CreateRequest['ports']>[number];
export type StorageRequest = NonNullable<CreateRequest['storage']>[number];
export type HealthchecksRequest = NonNullable<CreateRequest['healthchecks']>;
export type ProbeRequest = NonNullable<HealthchecksRequest['readiness_probe']>;
export type GitRepositoryRequest = CreateRequest['git_repository'];
