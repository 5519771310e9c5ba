// The pages of a small fleet: a PostgreSQL server of its own, tables that are filled with SQL, and `serve` on them.

import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EVIL, LONG_MODEL, drivescope, serve } from './program.mjs';

const PLACES = '/usr/lib/postgresql';
const OWNER = 'drivescope';
/** Tries of 100 ms until the server answers. */
const TRIES = 600;

/** The folder of the newest server's programs. */
function programs() {
  const own = process.env.DRIVESCOPE_POSTGRES_BIN;
  const versions = existsSync(PLACES) ? readdirSync(PLACES).sort((a, b) => b - a) : [];
  const folders = [...(own ? [own] : []), ...versions.map((version) => join(PLACES, version, 'bin'))];
  return folders.find((folder) => ['postgres', 'initdb', 'psql'].every((name) => existsSync(join(folder, name))));
}

/** PostgreSQL refuses root. */
function serverUser() {
  if (process.getuid() !== 0) return {};
  const number = (option) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return { uid: number('-u'), gid: number('-g') };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const quoted = (text) => `'${text.replaceAll("'", "''").replaceAll('\u001b', '')}'`;

const agent = (name, machine) => ({
  id: `id-of-${name}`, name, machine, boot: name, version: '0.1.0', ceiling: 'own-files', parallel: 2,
  // On a slow machine, too, only the host that is to be lost is lost.
  poll_s: 3600,
});

const drive = (host, name, model) => ({
  key: `${host}|${name}`, name, target: `/dev/${name}`, directories: [], kind: 'hard-disk', model, serial: `S-${name}`,
  firmware: '82.00A82', capacity_bytes: 4000787030016, link: 'SATA 3 Gb/s', link_possible: 'SATA 6 Gb/s',
  temperature_c: 38, fill: 0.42, misaligned: ['sda1'],
});

/** Three hosts, one lost, one with the machine id of another; missing drives; a submission with jobs in all states. */
function rows() {
  const hosts = [['rack7-01', 'm1', '5 days'], ['rack7-02', 'm2', '4 s'], [EVIL, 'm2', '9 s']];
  const lines = hosts.map(([name, machine, ago]) => {
    const facts = agent(name, machine);
    return `INSERT INTO fleet_hosts (id, name, machine, facts, incarnation, boot, last_seen) VALUES (${quoted(facts.id)},
      ${quoted(name)}, '${machine}', ${quoted(JSON.stringify(facts))}, 'i', ${quoted(`boot of ${name}`)}, now() - INTERVAL '${ago}')`;
  });
  for (const [host] of hosts) {
    for (const [name, model, isThere] of [['sda', 'WDC WD40EFRX', 1], ['sdb', LONG_MODEL, 1], ['sdc', EVIL, 0]]) {
      const facts = drive(host, name, model);
      lines.push(`INSERT INTO fleet_drives (host_id, key, facts, is_there, last_seen) VALUES (${quoted(`id-of-${host}`)},
        ${quoted(facts.key)}, ${quoted(JSON.stringify(facts))}, ${isThere}, now() - INTERVAL '3 days')`);
    }
  }
  const plan = { format: 1, suite: 'quick', suite_text: '', level: 'read', expected_s: 95 };
  lines.push(`INSERT INTO fleet_submissions (key, plan, selector, submitted_by, go_at) VALUES (${quoted(EVIL)},
    ${quoted(JSON.stringify(plan))}, 'model=~"WD40.*" and fill<0.5', 'ann', now())`);
  lines.push(`INSERT INTO fleet_jobs (submission, host_id, drive, name, agent_login, state, lease_until, phase, done,
      run_id, exit_code, message)
    SELECT ${quoted(EVIL)}, 'id-of-rack7-01', state, 'sda', 'x', state, now() - INTERVAL '1 min', 'transfer', 0.4,
      '000000000000', 4, repeat('reason', 60)
    FROM unnest(ARRAY['waiting', 'running', 'done', 'failed', 'refused', 'cancelled', 'unknown']) state`);
  return lines.join(';\n');
}

/** Calls `look` with a function that gives addresses of its pages; nothing is left. */
export async function withFleet(binary, scratch, look) {
  const bin = programs();
  if (!bin) {
    if (process.env.DRIVESCOPE_TESTS_MUST_RUN) throw new Error('no PostgreSQL server (Debian: postgresql)');
    console.error('SKIPPED: pages of a fleet: no PostgreSQL server (Debian: postgresql)');
    return;
  }
  const user = serverUser();
  const folder = mkdtempSync(join(tmpdir(), 'drivescope-pg-'));
  if (user.uid) chownSync(folder, user.uid, user.gid);
  const options = { ...user, cwd: folder, stdio: 'ignore' };
  const data = join(folder, 'data');
  execFileSync(join(bin, 'initdb'), ['-U', OWNER, '-A', 'trust', '-E', 'UTF8', '--no-sync', '-D', data], options);
  const port = await freePort();
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'];
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((it) => ['-c', it])], options);
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const database = `postgres://${OWNER}@127.0.0.1:${port}/postgres`;
  try {
    const psql = (sql) => execFileSync(join(bin, 'psql'), ['-X', '-q', '-v', 'ON_ERROR_STOP=1', database], { ...options,
      stdio: ['pipe', 'ignore', 'inherit'], input: sql });
    for (let left = TRIES; ; left -= 1) {
      try {
        execFileSync(join(bin, 'psql'), ['-X', '-q', database, '-c', 'SELECT 1'], options);
        break;
      } catch (error) {
        if (left === 0) throw error;
        await sleep(100);
      }
    }
    await drivescope(binary, scratch, ['store', 'init', '--store', database]);
    psql(rows());
    const site = await serve(binary, scratch, database);
    try {
      await look((path) => new URL(path, site.address).href);
    } finally {
      await site.end();
    }
  } finally {
    server.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Its pages. */
export async function looksAtFleet(checks, at) {
  const key = encodeURIComponent(EVIL.replaceAll('\u001b', ''));
  const pages = [
    ['fleet hosts', '/fleet', ['3 hosts', '1 lost', 'same machine id']],
    ['fleet drives of a host', '/fleet/drives?host=id-of-rack7-01', ['3 drives of the host rack7-01']],
    ['fleet jobs', '/fleet/jobs', ['1 failed', 'level read']],
    ['fleet submission', `/fleet/submission?key=${key}`, ['its agent is silent', 'fleet decide']],
  ];
  for (const [name, path, parts] of pages) await checks.page(name, at(path), parts);
  const { context, page } = await checks.open('fleet');
  await page.goto(at('/models'));
  await page.getByRole('link', { name: 'Fleet' }).click();
  await page.getByRole('link', { name: '1 lost' }).click();
  checks.expect(await page.locator('tbody tr').count() === 1, 'lost hosts are listed');
  checks.expect(await page.locator('#evil').count() === 0, 'names of hosts are not markup');
  await context.close();
}
