import { describeCrashesInMemory } from '../testing/crash/matrix.ts';

describeCrashesInMemory(['job', 'cron job', 'terraform', 'chart']);
