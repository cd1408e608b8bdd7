export { readChartArchive, readChartValues } from './chart-values.ts';
export { mountHelmRepository } from './routes.ts';
