import { startDavit } from '../davit.ts';
import type { Place } from '../place.ts';
import { BenchApplication, busyboxApplication, createProject } from './applications.ts';

const opened = new WeakMap<Place, Promise<void>>();

/**
 * Creates the state of a new user's installation, named `installation`: the embedded database and one running
 * application. The installation is made once per run and stopped again.
 */
export function openInstallation(place: Place): Promise<void> {
  const known = opened.get(place) ?? make(place);
  opened.set(place, known);
  return known;
}

async function make(place: Place): Promise<void> {
  const davit = await startDavit(place, { name: 'installation' });
  const url = (await place.git()).commit('installation', busyboxApplication);
  const application = await BenchApplication.create(davit, {
    projectId: await createProject(davit, 'Installation'),
    name: 'shop',
    url,
  });
  await application.request();
  await application.untilDeployed();
  await davit.stop();
}
