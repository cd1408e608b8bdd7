import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { dump } from 'js-yaml';
import { afterAll, describe, expect, test } from 'vitest';
import { alertRules, dashboard, dashboardExpressions, deployFolder, hasPromtool, promtool, promtoolRemedy } from './testing.ts';

/*
 * The files that operators load into Prometheus and Grafana. platform.slow.db.test.ts checks against a server that
 * their series exist.
 */

const rules = alertRules();
const prometheus = path.join(deployFolder, 'prometheus');

describe('the alerts', () => {
  test('are ten, each with severity, summary, description and a section of the documentation that says what to do', () => {
    expect(rules).toHaveLength(10);
    const document = readFileSync(path.join(deployFolder, '../docs/alerts.md'), 'utf8');
    const sections = new Map(
      document
        .split(/^## /m)
        .slice(1)
        .map((section) => [section.split('\n', 1)[0], section] as const),
    );
    expect([...sections.keys()]).toEqual(rules.map(({ alert }) => alert));
    const parts = ['**Meaning.**', '**Look at**', '**Do'];
    const lacking = rules.filter(
      ({ alert, labels, annotations: { summary = '', description = '', runbook } }) =>
        !['warning', 'critical'].includes(labels.severity ?? '') ||
        summary === '' ||
        !description.endsWith('.') ||
        runbook !== `docs/alerts.md#${alert.toLowerCase()}` ||
        parts.some((part) => sections.get(alert)?.includes(part) !== true),
    );
    expect(lacking).toEqual([]);
  });

  test.skipIf(!hasPromtool)(`are good rules and a good configuration${promtoolRemedy}`, () => {
    expect(promtool(['check', 'rules', 'alerts.yaml'], '', prometheus)).toContain('SUCCESS: 10 rules found');
    expect(promtool(['check', 'config', 'prometheus.yaml'], '', prometheus)).not.toContain('exit code');
  });

  test.skipIf(!hasPromtool)(`fire at recorded faults, and at nothing else${promtoolRemedy}`, () => {
    expect(promtool(['test', 'rules', 'alerts.test.yaml'], '', prometheus)).toMatch(/^Unit Testing: .*\n {2}SUCCESS\n/);
    // Each alert fires in the tests, and each is quiet before.
    const text = readFileSync(path.join(prometheus, 'alerts.test.yaml'), 'utf8');
    const quiet = rules.filter(({ alert }) => !text.includes(`alertname: ${alert}, exp_alerts: [] }`));
    const firing = rules.filter(
      ({ alert }) => !text.includes(`alertname: ${alert}\n        exp_alerts:\n          - exp_labels`),
    );
    expect([...quiet, ...firing]).toEqual([]);
  });
});

describe('the dashboard', () => {
  const { panels } = dashboard;
  const folder = mkdtempSync(path.join(tmpdir(), 'davit-dashboard-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has a row for each part of the platform, takes its data source from a variable, and no panel covers another', () => {
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).toEqual(
      expect.arrayContaining([
        'Queue',
        'Deployments',
        'Steps',
        'Clusters',
        'Gateway',
        'Database',
        'Webhooks and git events',
        'Backups',
        'Certificates',
        'Disk',
      ]),
    );
    const drawn = panels.filter(({ type }) => type !== 'row');
    expect(drawn.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
    const sources = drawn.flatMap(({ datasource, targets = [] }) => [datasource, ...targets.map((target) => target.datasource)]);
    expect(new Set(sources.map((source) => JSON.stringify(source)))).toEqual(
      new Set(['{"type":"prometheus","uid":"${datasource}"}']),
    );
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });

  test.skipIf(!hasPromtool)(`has expressions that Prometheus can read${promtoolRemedy}`, () => {
    const expressions = dashboardExpressions().map((text) =>
      text.replaceAll(/\$__(rate_interval|range)/g, '5m').replaceAll(/\$(job|instance)/g, '.+'),
    );
    expect(expressions.length).toBeGreaterThan(60);
    const file = {
      groups: [{ name: 'dashboard', rules: expressions.map((expr, index) => ({ record: `panel:${index}`, expr })) }],
    };
    writeFileSync(path.join(folder, 'rules.yaml'), dump(file));
    expect(promtool(['check', 'rules', 'rules.yaml'], '', folder)).toContain(`SUCCESS: ${expressions.length} rules found`);
  });
});
