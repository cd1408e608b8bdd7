export { mountDatabaseBackup } from './routes.ts';
export { askForDueBackups, trimOrphanedBackups } from './schedule.ts';
