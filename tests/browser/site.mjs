// What people do with the pages of `serve`, with a script and without one.

import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { EVIL } from './program.mjs';

const PATIENCE = { timeout: 60_000 };

/** Searches, compares, measures, stops: by keyboard, with the script. */
export async function usesTheSite(checks, at, scratch, runs) {
  const { context, page } = await checks.open('site', { viewport: { width: 1280, height: 800 } });
  await page.goto(at('/'));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const focused = await page.evaluate(() => document.activeElement.id);
  checks.expect(focused === 'main', `the first key leads to the content, not to '${focused}'`);

  await page.goto(at('/runs'));
  const row = page.locator('tr', { hasText: runs.ssd });
  checks.expect((await row.innerText()).includes(EVIL.slice(0, 16)), 'names are text');
  checks.expect(await page.locator('#evil').count() === 0, 'names are not markup');
  const button = page.locator('#compare-runs button');
  checks.expect(await button.isDisabled(), 'there is nothing to compare yet');
  await page.locator('#search').pressSequentially('860evo');
  await page.waitForURL(/search=860evo/, PATIENCE);
  checks.expect(await page.locator('tbody tr').count() === 1, 'a search finds its run while it is typed');
  await page.locator('#search').fill('');
  await page.locator(`input[value="${runs.disk[0]}"]`).waitFor(PATIENCE);
  for (const id of [runs.disk[0], runs.ssd]) {
    await page.locator(`input[value="${id}"]`).focus();
    await page.keyboard.press('Space');
  }
  checks.expect((await button.innerText()) === 'Compare 2 runs', 'the button counts what is chosen');
  await button.press('Enter');
  await page.waitForURL(/compare/, PATIENCE);
  checks.expect((await page.locator('main').innerText()).includes('drivescope comparison'), 'both are compared');

  await measures(checks, page, at, 'sim:wd40efrx', 'read');
  checks.expect((await page.locator('h1').first().innerText()).includes('WD40EFRX'), 'the run that was measured is shown');
  await stops(checks, page, at, scratch);
  await context.close();
}

/** Fills the form, and waits for the end of the run, which leads to its page. */
async function measures(checks, page, at, target, level) {
  await begins(page, at, target, level);
  await page.waitForURL(/\/runs\/\w+/, PATIENCE);
  const text = await page.locator('main').innerText();
  checks.expect(text.includes('What it suits'), `${target} was measured: ${text.slice(0, 200)}`);
}

async function begins(page, at, target, level) {
  await page.goto(at('/measure'));
  await page.locator('#target').fill(target);
  await page.locator('#suite').selectOption('first');
  await page.locator(`#${level}`).check();
  await page.locator('#target').press('Enter');
  await page.waitForURL(/\/live|\/runs\/\w/, PATIENCE);
}

/** A directory, which is measured long enough to be looked at and stopped. */
async function stops(checks, page, at, scratch) {
  const target = join(scratch, 'target');
  mkdirSync(target);
  await begins(page, at, target, 'own-files');
  const line = page.locator('#line');
  await line.getByText(/\w+ {2}\S/).waitFor(PATIENCE);
  const before = await line.innerText();
  await page.waitForFunction((text) => document.getElementById('line')?.textContent !== text, before, PATIENCE);
  checks.expect(readdirSync(target).length === 1, 'it has a folder of its own');
  await page.getByRole('button', { name: /Stop/ }).press('Enter');
  await page.getByText('Stopped; what was measured is kept.').waitFor(PATIENCE);
  checks.expect(readdirSync(target).length === 0, 'nothing is left behind');
}

/** The same ways without a script. */
export async function tellsWithoutScript(checks, at, runs) {
  const { context, page } = await checks.open('no script', { javaScriptEnabled: false });
  await page.goto(at('/runs'));
  await page.locator('#search').fill('860evo');
  await page.locator('#search').press('Enter');
  checks.expect(await page.locator('tbody tr').count() === 1, 'a search works without a script');
  await page.goto(at('/runs'));
  for (const id of [runs.disk[0], runs.ssd]) await page.locator(`input[value="${id}"]`).check();
  await page.locator('#compare-runs button').click();
  checks.expect((await page.locator('main').innerText()).includes('drivescope comparison'), 'so does a comparison');
  await measures(checks, page, at, 'sim:samsung-860evo-250', 'read');
  await context.close();
}

/** The chart of rate and access time by position: what it shows of a point is what the document has of it. */
export async function pointsAtCharts(checks, address, series) {
  const { context, page } = await checks.open('hover', { viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  const chart = page.locator('svg[data-x$="position, TB"]:visible').first();
  await chart.scrollIntoViewIfNeeded();
  const tip = page.locator('output.tip');
  checks.expect(await tip.isHidden(), 'nothing is shown before the pointer is there');
  for (const index of [0, 10, series.x.length - 1]) {
    await hoversOver(checks, page, chart, tip, series.x[index] / 1e12, series.y[index]);
  }
  await chart.focus();
  await page.keyboard.press('Escape');
  checks.expect(await tip.isHidden(), 'Escape hides it');
  const seen = new Set();
  for (let step = 0; step < 5; step += 1) {
    await page.keyboard.press('ArrowRight');
    seen.add(await tip.innerText());
  }
  checks.expect(seen.size === 5, `arrow keys go from point to point: ${[...seen]}`);
  await hidesAndEnlarges(checks, page, chart, tip);
  await context.close();
}

/** Series go and come back by their buttons; an enlarged chart is zoomed by keys and still tells its values. */
async function hidesAndEnlarges(checks, page, chart, tip) {
  const figure = page.locator('figure').filter({ has: chart });
  const line = chart.locator('[data-n="read"]');
  const toggle = figure.getByRole('button', { name: 'read', exact: true });
  await toggle.press('Enter');
  // A busy machine draws later.
  await line.waitFor({ state: 'hidden' }).catch(() => {});
  const pressed = await toggle.getAttribute('aria-pressed');
  checks.expect(await line.isHidden() && pressed === 'false', 'a series can be hidden');
  await toggle.press('Enter');
  checks.expect(await line.isVisible(), 'and shown again');
  await figure.getByRole('button', { name: 'Enlarge' }).press('Enter');
  const big = page.locator('dialog svg');
  const whole = await big.getAttribute('viewBox');
  await page.keyboard.press('+');
  checks.expect(await big.getAttribute('viewBox') !== whole, 'a key zooms in');
  const box = await big.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  checks.expect(/MB\/s|ms/.test(await tip.innerText()), 'values are shown in the zoomed chart too');
  await page.keyboard.press('0');
  checks.expect(await big.getAttribute('viewBox') === whole, 'a key shows the whole chart again');
  await page.keyboard.press('Escape');
  checks.expect(await page.locator('dialog').isHidden(), 'Escape closes it');
}

/** The pointer at a position and a rate, by the chart's own ticks: the numbers that people read there. */
async function hoversOver(checks, page, chart, tip, position, rate) {
  const box = await chart.boundingBox();
  const [left, right] = await axisEnds(chart, 'data-x');
  const [bottom, top] = await axisEnds(chart, 'data-y');
  const scale = box.width / Number(await chart.getAttribute('width'));
  const at = (ends, value) => ends.from + (ends.to - ends.from) * (value - ends.first) / (ends.last - ends.first);
  const across = at({ ...left, ...right }, position);
  await page.mouse.move(box.x + scale * across, box.y + scale * at({ ...bottom, ...top }, rate));
  const text = await tip.innerText();
  const numbers = [...text.matchAll(/[\d,.]+(?= MB\/s| TB|$)/g)];
  const [shown, where] = numbers.map((match) => Number(match[0].replaceAll(',', '')));
  const near = (is, wanted) => Math.abs(is - wanted) <= Math.abs(wanted) * 0.01;
  checks.expect(near(shown, rate) && near(where, position), `at ${position} TB, ${rate} MB/s it says '${text}'`);
}

/** What an axis begins and ends with, as value and as place in the drawing. */
async function axisEnds(chart, attribute) {
  const [, , first, last, from, to] = (await chart.getAttribute(attribute)).split(' ').map(Number);
  return [{ first, from }, { last, to }];
}
