import { describeCrashesInMemory } from '../testing/crash/matrix.ts';

describeCrashesInMemory(['application', 'application with a volume']);
