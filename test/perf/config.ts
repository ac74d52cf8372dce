/** Whether times are recorded, to compare later ones with, and not compared. */
export function isRecording(): boolean {
  return process.env['PERF_RECORD'] === '1';
}
