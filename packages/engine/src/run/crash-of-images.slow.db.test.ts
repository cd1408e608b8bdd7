import { describeCrashesInMemory } from '../testing/crash/matrix.ts';

describeCrashesInMemory(['container', 'container with three instances', 'database']);
