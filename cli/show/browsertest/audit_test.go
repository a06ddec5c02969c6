package browsertest

// audit returns the accessibility faults of the page, which are missing names and roles, overflow, and contrast below WCAG AA.
const audit = `(() => {
	const faults = [];
	const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
	const over = (top, below) => {
		const a = top.length > 3 ? top[3] : 1;
		return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a));
	};
	const ground = (e) => {
		const layers = [];
		for (; e; e = e.parentElement) {
			layers.push(parse(getComputedStyle(e).backgroundColor));
		}
		return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
	};
	const luminance = (color) => {
		const [r, g, b] = color.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node = texts.nextNode(); node; node = texts.nextNode()) {
		const e = node.parentElement;
		if (!node.data.trim() || !e.checkVisibility() || e.closest(".unseen")) {
			continue;
		}
		const below = ground(e);
		const [light, dark] = [luminance(over(parse(getComputedStyle(e).color), below)), luminance(below)].sort((a, b) => b - a);
		const ratio = (light + 0.05) / (dark + 0.05);
		if (ratio < 4.5) {
			faults.push("contrast " + ratio.toFixed(2) + ": " + node.data.trim().slice(0, 40));
		}
	}
	const named = (e) => e.getAttribute("aria-label") || e.labels?.length > 0 || e.textContent.trim();
	document.querySelectorAll("button, input, a").forEach((e) => named(e) || faults.push("no name: " + e.outerHTML));
	document.querySelectorAll("img").forEach((e) => e.hasAttribute("alt") || faults.push("no alt: " + e.outerHTML));
	document.querySelectorAll("main > section").forEach((e) =>
		e.getAttribute("aria-label") || document.getElementById(e.getAttribute("aria-labelledby")) || faults.push("no title: " + e.className));
	document.querySelectorAll("main > section > table").forEach((table) => {
		const heads = table.tHead.rows[0].cells.length;
		for (const row of table.tBodies[0].rows) {
			const cells = [...row.cells].reduce((n, c) => n + c.colSpan, 0);
			if (row.getAttribute("role") !== "row" || (cells !== heads && row.cells.length > 1)) {
				faults.push(table.id + ": a row of " + cells + " cells below " + heads + " titles");
			}
			if (row.cells.length > 1 && row.cells[0].getAttribute("role") !== "rowheader") {
				faults.push(table.id + ": a row without a header");
			}
		}
	});
	for (const [what, found] of [["language", document.documentElement.lang], ["title", document.title], ["level-1 heading", document.querySelector("h1")],
		["live region", document.querySelector("[role=alert]")], ["main", document.querySelector("main")]]) {
		found || faults.push("no " + what);
	}
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	ids.forEach((id, i) => ids.indexOf(id) === i || faults.push("two elements " + id));
	document.querySelectorAll("body *").forEach((e) => {
		const box = e.getBoundingClientRect();
		const spilt = e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline";
		if ((spilt || box.right > innerWidth + 0.5) && !e.closest(".unseen") && !e.closest("svg")) {
			faults.push("ends at " + Math.round(box.right) + " pixels, holds " + e.scrollWidth + ": " + e.tagName + " " + (e.dataset.field || e.className || e.id) + " " + e.textContent.slice(0, 30));
		}
	});
	return faults;
})()`
