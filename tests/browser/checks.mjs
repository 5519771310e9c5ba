// What holds for every page.

import { join } from 'node:path';

const SIZES = [{ width: 360, height: 740 }, { width: 1280, height: 800 }, { width: 3840, height: 2160 }];
const SCHEMES = ['light', 'dark'];
/** Height of letters in charts, in pixels. */
const TEXT_MIN = 10;
/** A4 with margins of 12 mm, as the style sheet has it. */
const PAPER = { width: 703, height: 1032 };
/** What can have the focus. */
const FOCUSABLE = 'a[href], button:not(:disabled), input, select, textarea, summary, [tabindex="0"]';
/** More steps than any of these pages has. */
const TABS_MAX = 2000;

export class Checks {
  constructor(browser, axe, pictures) {
    Object.assign(this, { browser, axe, pictures, faults: [], count: 0 });
  }

  expect(is, what) {
    this.count += 1;
    if (!is) {
      this.faults.push(what);
      console.error(`FAILED: ${what}`);
    }
  }

  /** A page of its own that tells what it should not do. */
  async open(name, options) {
    const context = await this.browser.newContext(options);
    const page = await context.newPage();
    // A machine that is busy with tests draws a page late.
    page.setDefaultTimeout(120_000);
    page.on('console', (message) => this.expect(false, `${name}: console: ${message.text()}`));
    page.on('pageerror', (error) => this.expect(false, `${name}: ${error}`));
    page.on('request', (request) => {
      const to = new URL(request.url());
      const from = page.url() === 'about:blank' ? to : new URL(page.url());
      const stays = ['data:', 'blob:'].includes(to.protocol)
        || (to.origin === from.origin && (to.protocol !== 'file:' || request.isNavigationRequest()));
      this.expect(stays, `${name}: asks for ${to}`);
    });
    return { context, page };
  }

  /** In all sizes and colours: it is there, fits, and is usable by everybody. */
  async page(name, address, parts) {
    for (const colorScheme of SCHEMES) {
      const { context, page } = await this.open(name, { colorScheme, viewport: SIZES[0] });
      // An error page is an answer too; its status is no message of the page.
      page.removeAllListeners('console');
      page.on('console', (message) => {
        const isStatus = message.text().includes('the server responded with a status of');
        this.expect(isStatus && message.location().url === address, `${name}: console: ${message.text()}`);
      });
      await page.goto(address);
      const text = await page.locator('body').innerText();
      for (const part of parts) this.expect(text.includes(part), `${name}: has no '${part}'`);
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await this.fits(name, page, size.width);
        if (this.pictures) {
          const path = join(this.pictures, `${name.replaceAll(' ', '-')}-${size.width}-${colorScheme}.png`);
          await page.screenshot({ path, fullPage: size.width < 2000 });
        }
        if (size.width === 360 || (size.width === 1280 && colorScheme === 'dark')) await this.accessible(name, page);
      }
      if (colorScheme === 'light') await this.reachable(name, page);
      await context.close();
    }
  }

  /** No scrolling from side to side: what is wider scrolls within itself. */
  async fits(name, page, width) {
    const beyond = await page.evaluate(() => {
      const root = document.documentElement;
      if (root.scrollWidth <= root.clientWidth) return null;
      const isWide = (it) => it.getBoundingClientRect().right > root.clientWidth + 1 && !it.closest('.scroll');
      const widest = [...document.body.querySelectorAll('*')].find(isWide);
      return `${root.scrollWidth} px, by ${widest?.outerHTML.slice(0, 120)}`;
    });
    this.expect(beyond === null, `${name}: ${beyond} at ${width} px`);
  }

  /** A page on a phone, a desk and paper: text of charts can be read, none covers another or leaves its picture. */
  async report(name, address) {
    const { context, page } = await this.open(name, { viewport: SIZES[0] });
    await page.goto(address);
    await this.legible(`${name} on a phone`, page);
    const small = await page.evaluate(() => [...document.querySelectorAll('button')]
      .filter((it) => it.getClientRects().length > 0 && it.getBoundingClientRect().height < 44).length);
    this.expect(small === 0, `${name}: ${small} buttons are lower than 44 px on a phone`);
    await page.setViewportSize(SIZES[1]);
    await this.legible(`${name} on a desk`, page);
    // A page read in dark colours is printed in light ones.
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const ink = await page.evaluate(() => getComputedStyle(document.body).color);
    this.expect(ink.match(/\d+/g).every((part) => part < 90), `${name} on paper: its text is ${ink}`);
    await page.setViewportSize(PAPER);
    await this.legible(`${name} on paper`, page);
    await this.fits(`${name} on paper`, page, PAPER.width);
    const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
    const sheets = pdf.match(/\/Type \/Page\b/g).length;
    this.expect(sheets < 8, `${name}: ${sheets} pages on paper`);
    await context.close();
  }

  async legible(name, page) {
    const faults = await page.evaluate((least) => {
      const found = [];
      for (const svg of document.querySelectorAll('svg')) {
        if (svg.getClientRects().length === 0) continue;
        const frame = svg.getBoundingClientRect();
        const scale = frame.width / svg.viewBox.baseVal.width;
        const texts = [...svg.querySelectorAll('text')].map((it) => [it, it.getBoundingClientRect()]);
        texts.forEach(([it, box], i) => {
          const said = `${svg.querySelector('title').textContent}: ${it.textContent}`;
          if (it.getAttribute('font-size') * scale < least) found.push(`${said} is smaller than ${least} px`);
          if (box.left < frame.left - 1 || box.right > frame.right + 1) found.push(`${said} leaves the picture`);
          // Boxes are higher than letters.
          const covered = texts.slice(0, i).find(([, other]) => box.left < other.right - 1 && other.left < box.right - 1
            && box.top < other.bottom - 4 && other.top < box.bottom - 4);
          if (covered) found.push(`${said} covers ${covered[0].textContent}`);
        });
      }
      return found;
    }, TEXT_MIN);
    this.expect(faults.length === 0, `${name}: ${faults.length} texts, the first: ${faults[0]}`);
  }

  /** What axe finds. */
  async accessible(name, page) {
    await page.evaluate(this.axe);
    const found = await page.evaluate(async () => {
      const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
      return violations.map((it) => `${it.id} (${it.nodes.length}): ${it.help}: ${it.nodes[0].html.slice(0, 160)}`);
    });
    for (const fault of found) this.expect(false, `${name}: axe: ${fault}`);
    this.expect(true, `${name}: axe`);
  }

  /** Tab comes by everything that can be used, and the focus is seen. */
  async reachable(name, page) {
    await page.evaluate(() => document.querySelectorAll('details').forEach((it) => { it.open = true; }));
    const wanted = await page.evaluate((focusable) => {
      const seen = (it) => it.checkVisibility({ visibilityProperty: true })
        && !(it.type === 'radio' && !it.checked && document.querySelector(`[name="${it.name}"]:checked`));
      globalThis.wanted = [...document.querySelectorAll(focusable)].filter(seen);
      globalThis.reached = new Set();
      document.activeElement?.blur();
      document.addEventListener('focusin', ({ target }) => {
        globalThis.reached.add(target);
        if (getComputedStyle(target).outlineStyle === 'none') globalThis.unseen ??= target.outerHTML.slice(0, 120);
      });
      return globalThis.wanted.length;
    }, FOCUSABLE);
    const missing = () => page.evaluate(() =>
      globalThis.wanted.filter((it) => !globalThis.reached.has(it)).map((it) => it.outerHTML.slice(0, 120)));
    for (let step = 0; step < Math.min(wanted + 5, TABS_MAX); step += 1) await page.keyboard.press('Tab');
    const left = await missing();
    this.expect(left.length === 0, `${name}: not reached with Tab (${left.length} of ${wanted}): ${left[0]}`);
    const unseen = await page.evaluate(() => globalThis.unseen ?? null);
    this.expect(unseen === null, `${name}: the focus is not seen: ${unseen}`);
  }

  conclude() {
    console.log(`${this.count} checks, ${this.faults.length} failed`);
    if (this.faults.length > 0) process.exitCode = 1;
  }
}
