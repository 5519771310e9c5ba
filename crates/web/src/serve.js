// What saves reloading: everything here works without it, by links, forms and a page that is loaded again.
'use strict';

const by = (id) => document.getElementById(id);

// A run in progress: states come as they change.
function follow(live) {
  const source = new EventSource(live.dataset.events);
  let shown = '';
  source.onmessage = (message) => {
    const state = JSON.parse(message.data);
    by('share').value = state.share;
    by('line').textContent = state.line;
    // Made and escaped by the server. What is the same stays, with whatever the reader has unfolded.
    by('rate').innerHTML = state.rate;
    if (state.measured !== null && state.measured !== shown) {
      const measured = by('measured');
      const open = [...measured.querySelectorAll('details')].map((it) => it.open);
      measured.innerHTML = shown = state.measured;
      measured.querySelectorAll('details').forEach((it, i) => { it.open = Boolean(open[i]); });
    }
    if (state.ended) {
      source.close();
      location.reload();
    }
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
  };
}

// Drives that have not answered appear when they do; what is unfolded stays so.
function awaitDrives() {
  const drives = by('drives');
  if (!drives || !('again' in drives.dataset)) return;
  setTimeout(async () => {
    const answer = await fetch('/').catch(() => null);
    const page = answer && answer.ok ? new DOMParser().parseFromString(await answer.text(), 'text/html') : null;
    const fresh = page && page.getElementById('drives');
    if (fresh) {
      const open = [...drives.querySelectorAll('details')].map((it) => it.open);
      fresh.querySelectorAll('details').forEach((it, i) => { it.open = Boolean(open[i]); });
      if (!drives.contains(document.activeElement)) drives.replaceWith(fresh);
    }
    awaitDrives();
  }, 2000);
}

// Runs that are found appear while the search is typed.
function searchAsTyped(form) {
  let waiting = 0;
  let asked = 0;
  const search = async () => {
    const fields = [...new FormData(form)].filter(([, value]) => value !== '');
    const query = new URLSearchParams(fields).toString();
    const address = form.action + (query ? '?' + query : '');
    const number = ++asked;
    const answer = await fetch(address).catch(() => null);
    if (!answer || !answer.ok || number !== asked) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    by('found').replaceWith(page.getElementById('found'));
    history.replaceState(null, '', address);
    countChosen();
  };
  form.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 250);
  });
}

// The button says how many runs it compares, and can be pressed for as many as can be compared.
function countChosen() {
  const form = by('compare-runs');
  if (!form) return;
  const button = form.querySelector('button');
  const count = form.querySelectorAll('input:checked').length;
  const most = Number(form.dataset.most);
  button.disabled = count < 2 || count > most;
  button.textContent = `Compare ${count} runs`;
  if (count < 2) button.textContent = 'Compare: choose two runs or more';
  if (count > most) button.textContent = `Compare: ${count} chosen, at most ${most}`;
}

if (by('live')) follow(by('live'));
awaitDrives();
if (by('search-runs')) searchAsTyped(by('search-runs'));
document.addEventListener('change', countChosen);
// A page that is shown again has its choice already.
window.addEventListener('pageshow', countChosen);
countChosen();
