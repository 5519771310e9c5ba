// The program under test: a store of simulated runs, reports of them, and `serve`.

import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const call = promisify(execFile);

/** Markup and a terminal's escape in a name. */
export const EVIL = '<b id="evil">&"\'\u001b[31m';

/** A model's name of 300 letters without a blank, and a label of 300 that is read from right to left. */
export const LONG_MODEL = 'LONGMODEL-'.repeat(30);
const LONG_LABEL = 'כונן '.repeat(60);

function environment(scratch) {
  const home = join(scratch, 'home');
  return {
    PATH: process.env.PATH, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home,
  };
}

export async function drivescope(binary, scratch, words) {
  const options = { env: environment(scratch), cwd: scratch, maxBuffer: 1 << 26 };
  return (await call(binary, words, options)).stdout;
}

/** A store with runs of two models: their ids. */
export async function makeRuns(binary, scratch) {
  const store = ['--store', join(scratch, 'runs.db'), '--json'];
  const run = async (words) => JSON.parse(await drivescope(binary, scratch, ['run', ...words, ...store])).id;
  const ssd = run(['sim:samsung-860evo-250', '--rounds', '3', '--seed', '1', '--label', EVIL]);
  const disk = [await run(['sim:wd40efrx', '--rounds', '3', '--seed', '1', '--label', 'first'])];
  for (const seed of ['2', '3', '4', '5']) {
    disk.push(await run(['sim:wd40efrx', '--suite', 'first', '--seed', seed]));
  }
  return { ssd: await ssd, disk, long: await longNamed(binary, scratch, disk[0]) };
}

/** The same run once more, of a drive with long names. */
async function longNamed(binary, scratch, id) {
  const store = ['--store', join(scratch, 'runs.db')];
  const run = JSON.parse(await drivescope(binary, scratch, ['show', id, '--json', ...store]));
  Object.assign(run, { id: 'ffffffffffff', label: LONG_LABEL });
  run.target.path = 'sim:long';
  Object.assign(run.drive, { model: LONG_MODEL, serial: 'LONG' });
  const path = join(scratch, 'long.json');
  writeFileSync(path, JSON.stringify(run));
  await drivescope(binary, scratch, ['import', path, ...store]);
  return run.id;
}

/** Reports of them, as files. */
export async function makeReports(binary, scratch, runs) {
  const file = async (name, ids) => {
    const path = join(scratch, name);
    await drivescope(binary, scratch, ['report', ...ids, '-o', path, '--store', join(scratch, 'runs.db')]);
    return path;
  };
  return {
    one: await file('one.html', [runs.disk[0]]),
    both: await file('both.html', [runs.disk[0], runs.ssd]),
    long: await file('long.html', [runs.long]),
    longs: await file('longs.html', [runs.long, runs.disk[0], runs.ssd]),
  };
}

/** The rates over the drive that the document of a run has. */
export async function surfaceSeries(binary, scratch, id) {
  const text = await drivescope(binary, scratch, ['show', id, '--json', '--store', join(scratch, 'runs.db')]);
  const series = JSON.parse(text).tests.flatMap((test) => test.series ?? []);
  return series.find(({ key }) => key === 'surface.read.mb_s');
}

/** A server on a free port for a store, a file in `scratch` or an address, and how to end it. */
export async function serve(binary, scratch, store) {
  const named = store.includes('://') ? store : join(scratch, store);
  const words = ['serve', '--listen', '127.0.0.1:0', '--store', named];
  const child = spawn(binary, words, { env: environment(scratch), cwd: scratch, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = createInterface({ input: child.stdout });
  const address = await Promise.race([
    new Promise((resolve) => lines.once('line', resolve)),
    ended.then((code) => { throw new Error(`serve ended with ${code}`); }),
  ]);
  return {
    address,
    async end() {
      child.kill('SIGINT');
      return ended;
    },
  };
}
