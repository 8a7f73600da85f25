import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { TaskList } from './task-list.jsx';

/** Tasks of all queues. */
export function TasksScreen() {
  const { org } = signedIn().api;
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(org, { name: 'queues' })}>Task queues</a>
          </p>
          <h1>Tasks of all queues</h1>
        </div>
      </div>
      <TaskList queue={null} />
    </>
  );
}
