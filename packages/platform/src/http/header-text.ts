/** Header values hold printable ASCII only; whatever else a text quotes becomes `?`. */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
