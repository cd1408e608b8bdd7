import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as project from './project.ts';

export function mountProject(mounting: Mounting, deps: Needs<'database'>): void {
  mounting
    .on(operations.listProject, ({ caller, params }) => project.listProjects(deps, caller, params.organizationId))
    .on(operations.createProject, ({ caller, params, body }) => project.createProject(deps, caller, params.organizationId, body))
    .on(operations.getProject, ({ caller, params }) => project.readProject(deps, caller, params.projectId))
    .on(operations.editProject, ({ caller, params, body }) => project.editProject(deps, caller, params.projectId, body))
    .on(operations.deleteProject, ({ caller, params }) => project.deleteProject(deps, caller, params.projectId));
}
