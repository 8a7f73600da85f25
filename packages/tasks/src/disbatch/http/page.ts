/** What is at the root when no page of one's own is served there. */
export const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Muster: command interface</title></head>
<body>
<h1>Command interface</h1>
<p>Queues and tasks of Muster, as clients of Disbatch know them.</p>
<ul>
<li><a href="queues">queues</a></li>
<li><a href="nodes">nodes</a></li>
<li><a href="plugins">plugins</a></li>
<li><a href="balance">balance</a></li>
<li><a href="monitoring">monitoring</a></li>
<li><a href="info">info</a></li>
</ul>
</body>
</html>
`;
