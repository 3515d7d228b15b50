// Shows what a word means where the pointer, the focus or a finger is; without a script a word leads to the list.
(() => {
  const bubble = document.createElement("div");
  bubble.id = "meaning";
  bubble.setAttribute("role", "tooltip");
  bubble.hidden = true;
  document.body.append(bubble);
  let told = null;
  const leave = () => (bubble.hidden = true);
  const tell = (word) => {
    told = word;
    bubble.textContent = document.querySelector(word.getAttribute("href")).nextElementSibling.textContent;
    bubble.hidden = false;
    place();
  };
  const place = () => {
    const { left, top, bottom } = told.getBoundingClientRect();
    const { width, height } = bubble.getBoundingClientRect();
    const across = Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8));
    bubble.style.left = `${across}px`;
    bubble.style.top = `${bottom + height + 8 < innerHeight ? bottom + 6 : Math.max(8, top - height - 6)}px`;
  };
  document.querySelectorAll("a.term").forEach((word) => {
    word.setAttribute("aria-describedby", bubble.id);
    word.addEventListener("pointerenter", () => tell(word));
    word.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && leave());
    word.addEventListener("focus", () => tell(word));
    word.addEventListener("blur", leave);
    word.addEventListener("click", (event) => {
      event.preventDefault();
      tell(word);
    });
  });
  addEventListener("keydown", (event) => event.key === "Escape" && leave());
  addEventListener("pointerdown", (event) => event.target.closest("a.term") || leave());
  // A word that the keys bring into sight scrolls the page after it has the focus.
  addEventListener("scroll", () => bubble.hidden || place(), { capture: true, passive: true });
  // What is folded is printed, too.
  addEventListener("beforeprint", () => document.querySelectorAll("details.glossary").forEach((list) => (list.open = true)));
})();
