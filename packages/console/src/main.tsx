import { render } from 'preact';
import { App, opened } from './app.jsx';

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no place for the console');
void opened.then(() => {
  root.replaceChildren();
  render(<App />, root);
});
