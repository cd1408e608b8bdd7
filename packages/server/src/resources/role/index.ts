export { mountRole } from './routes.ts';
export { findRole, roleIdOf, roleNameOf, roleWordOf, type RoleReference } from './reference.ts';
