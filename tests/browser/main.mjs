// The pages of `report` and `serve` in a real browser. Called by `run`.

import { createRequire } from 'node:module';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeReports, makeRuns, serve, surfaceSeries } from './program.mjs';
import { Checks } from './checks.mjs';
import { looksAtFleet, withFleet } from './fleet.mjs';
import { pointsAtCharts, tellsWithoutScript, usesTheSite } from './site.mjs';

const [binary, work, executablePath, pictures] = process.argv.slice(2);
const require = createRequire(join(work, 'package.json'));
const { chromium } = require('playwright-core');
const axe = require('axe-core').source;

const QUIET = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

const scratch = mkdtempSync(join(work, 'run-'));
const begun = Date.now();
const elapsed = () => `${((Date.now() - begun) / 1000).toFixed(1)} s`;
let server;
let browser;
try {
  const empty = await serve(binary, scratch, 'empty.db');
  browser = await chromium.launch({ executablePath, args: QUIET });
  const checks = new Checks(browser, axe, pictures);
  await checks.page('first steps', empty.address, ['No run is stored yet']);
  await empty.end();

  const runs = await makeRuns(binary, scratch);
  const files = await makeReports(binary, scratch, runs);
  console.log(`runs and reports made: ${elapsed()}`);
  await checks.page('report', `file://${files.one}`, ['What it suits', 'How it was measured']);
  await checks.report('report', `file://${files.one}`);
  await checks.page('comparison', `file://${files.both}`, ['Every figure', 'What each suits']);
  await checks.report('comparison', `file://${files.both}`);
  await checks.page('long names', `file://${files.long}`, ['What it suits']);
  await checks.report('long names', `file://${files.long}`);
  await checks.page('comparison of long names', `file://${files.longs}`, ['Every figure']);
  await checks.report('comparison of long names', `file://${files.longs}`);
  console.log(`reports looked at: ${elapsed()}`);

  server = await serve(binary, scratch, 'runs.db');
  const at = (path) => new URL(path, server.address).href;
  const pages = [
    ['drives', '/', ['Drives of this machine']],
    ['runs', '/runs', ['Compare', runs.disk[0]]],
    ['nothing found', '/runs?search=absent', ['No stored run matches']],
    ['run', `/runs/${runs.ssd}`, ['What it suits', 'History of this drive']],
    ['several', `/compare?run=${runs.disk[0]}&run=${runs.ssd}`, ['Every figure']],
    ['run with long names', `/runs/${runs.long}`, ['What it suits']],
    ['history with long names', '/history?drive=LONG', ['Runs']],
    ['history', '/history?drive=SIM-WD40EFRX', ['Over time', 'new since the run before']],
    ['models', '/models', ['sim:wd40efrx']],
    ['measure', '/measure?target=sim:wd40efrx', ['What it may write']],
    ['no fleet', '/fleet', ['A fleet needs a store on a server']],
    ['not found', '/runs/000000000000', ['No such run', 'All runs']],
  ];
  for (const [name, path, parts] of pages) await checks.page(name, at(path), parts);
  console.log(`pages looked at: ${elapsed()}`);
  await withFleet(binary, scratch, (atFleet) => looksAtFleet(checks, atFleet));
  console.log(`fleet looked at: ${elapsed()}`);
  await usesTheSite(checks, at, scratch, runs);
  await tellsWithoutScript(checks, at, runs);
  const series = await surfaceSeries(binary, scratch, runs.disk[0]);
  await pointsAtCharts(checks, `file://${files.one}`, series);
  await pointsAtCharts(checks, at(`/runs/${runs.disk[0]}`), series);
  checks.conclude();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await browser?.close();
  await server?.end();
  rmSync(scratch, { recursive: true, force: true });
  console.log(`browser tests: ${elapsed()}`);
}
