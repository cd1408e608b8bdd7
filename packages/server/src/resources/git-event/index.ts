export { mountGitEvent } from './routes.ts';
export { GitInbox } from './inbox.ts';
export { GitWorker } from './work.ts';
export { followRepositories, type PollClock } from './poll.ts';
export { followPreviews, type PreviewClock } from './removal.ts';
export { trimGitEvents } from './ledger.ts';
export { rollbackRemarks } from './rollback.ts';
