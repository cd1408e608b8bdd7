import type { Body, operations, Response } from '@davit/contract';

type Operations = typeof operations;
type AnswerOf<Id extends keyof Operations> = Response<Operations[Id]>;
type RequestOf<Id extends keyof Operations> = Body<Operations[Id]>;

// The names are those of the OpenAPI document.
export type Application = AnswerOf<'getApplication'>;
export type ApplicationRequest = RequestOf<'createApplication'>;
export type ApplicationEditRequest = RequestOf<'editApplication'>;
export type Cluster = AnswerOf<'createCluster'>;
export type ClusterRequest = RequestOf<'createCluster'>;
export type Container = AnswerOf<'getContainer'>;
export type ContainerRequest = RequestOf<'createContainer'>;
export type ContainerEditRequest = RequestOf<'editContainer'>;
export type Database = AnswerOf<'getDatabase'>;
export type DatabaseRequest = RequestOf<'createDatabase'>;
export type DatabaseEditRequest = RequestOf<'editDatabase'>;
export type Environment = AnswerOf<'getEnvironment'>;
export type EnvironmentRequest = RequestOf<'createEnvironment'>;
export type EnvironmentEditRequest = RequestOf<'editEnvironment'>;
export type Helm = AnswerOf<'getHelm'>;
export type HelmRequest = RequestOf<'createHelm'>;
export type HelmEditRequest = RequestOf<'editHelm'>;
export type Job = AnswerOf<'getJob'>;
export type JobRequest = RequestOf<'createJob'>;
export type JobEditRequest = RequestOf<'editJob'>;
export type Organization = AnswerOf<'getOrganization'>;
export type OrganizationRequest = RequestOf<'createOrganization'>;
export type Project = AnswerOf<'getProject'>;
export type ProjectRequest = RequestOf<'createProject'>;
export type ProjectEditRequest = RequestOf<'editProject'>;
export type ServiceStatus = AnswerOf<'getApplicationStatus'>;
export type Terraform = AnswerOf<'getTerraform'>;
export type TerraformRequest = RequestOf<'createTerraform'>;
export type TerraformEditRequest = RequestOf<'editTerraform'>;
export type Variable = AnswerOf<'createVariable'>;
export type VariableRequest = RequestOf<'createVariable'>;
