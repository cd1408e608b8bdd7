import { startDavit } from '../davit.ts';
import type { Place } from '../place.ts';
import { BenchApplication, busyboxApplication, createProject } from './applications.ts';

const opened = new WeakMap<Place, Promise<void>>();

/**
 * Creates the state of a new user's installation, named `installation`: the embedded database and one running
 * application. The installation is made once per run and stopped again.
 */
export function openInstallation(location: Place): Promise<void> {
  const known = opened.get(location) ?? make(location);
  opened.set(location, known);
  return known;
}

async function make(location: Place): Promise<void> {
  const davit = await startDavit(location, { name: 'installation' });
  const url = (await location.git()).commit('installation', busyboxApplication);
  const application = await BenchApplication.create(davit, {
    projectId: await createProject(davit, 'Installation'),
    name: 'shop',
    url,
  });
  await application.request();
  await application.untilDeployed();
  await davit.stop();
}
