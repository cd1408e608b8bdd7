/* Numbers with their units, as people read them. */

function short(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 2 });
}

/** Returns processor time in cores: 500 millicores are "0.5 cores". */
export function coresOf(millicores: number): string {
  return `${short(millicores / 1000)} ${millicores === 1000 ? 'core' : 'cores'}`;
}

/** Returns memory in MiB, from 1,024 of them on in GiB. */
export function memoryOf(mebibytes: number): string {
  return mebibytes < 1024 ? `${short(mebibytes)} MiB` : `${short(mebibytes / 1024)} GiB`;
}

/** Returns how many of the wanted instances run; null: the cluster has not said how many. */
export function instancesOf(running: number | null | undefined, wanted: number): string {
  const all = `${wanted} ${wanted === 1 ? 'instance' : 'instances'}`;
  return running === null || running === undefined ? `${all} wanted` : `${running} of ${all} running`;
}

/** Returns the same in a column that is named "Instances". */
export function shortInstancesOf(running: number | null, wanted: number): string {
  return `${running ?? '–'}/${wanted}`;
}
