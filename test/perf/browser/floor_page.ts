/** Shows a table of 3,000 rows without any framework, at once: what a browser needs for that on this machine. */
const table = document.createElement('table');
for (let at = 0; at < 3_000; at += 1) {
  const row = table.insertRow();
  row.insertCell().textContent = `row ${at}`;
  row.insertCell().textContent = JSON.stringify({ at, name: `name ${(at * 7_919) % 3_000}` });
}
document.getElementById('app')?.append(table);
